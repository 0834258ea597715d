"""Traces and metrics over OTLP/HTTP."""
