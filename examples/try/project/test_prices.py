import unittest

from prices import discounted


class Discounts(unittest.TestCase):
    def test_ten_percent_off(self):
        self.assertEqual(discounted(50, 10), 45)

    def test_nothing_off(self):
        self.assertEqual(discounted(50, 0), 50)


if __name__ == "__main__":
    unittest.main()
