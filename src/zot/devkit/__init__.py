"""The conformance kit: plays the host against an extension and reports which rules it breaks. No run imports it."""
