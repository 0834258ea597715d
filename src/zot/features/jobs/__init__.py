"""Background jobs: the tool ``jobs``, ``/jobs``, and notes about them for the model."""
