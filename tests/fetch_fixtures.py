print("no fixtures yet")
