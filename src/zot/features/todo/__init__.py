"""The list of steps that the model keeps."""
