"""What extensions may request (second edition): one module per group, imported on first use."""
