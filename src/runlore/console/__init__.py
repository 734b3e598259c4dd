"""The browser console for operators. Filled after the HTTP surface."""
