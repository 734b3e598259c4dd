"""The routes of the API, one module for each area. They translate, and decide nothing."""
