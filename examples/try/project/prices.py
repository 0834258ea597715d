def discounted(price: float, percent: float) -> float:
    """The price after a discount."""
    return price + price * percent / 100
