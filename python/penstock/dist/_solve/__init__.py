"""What solves over ranks consist of beside `dist/linalg.py`."""
