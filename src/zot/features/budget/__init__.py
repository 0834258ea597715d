"""Spending limits and the cost ledger."""
