"""Background jobs: the tool ``jobs``, ``/jobs``, and what the model is told about them."""
