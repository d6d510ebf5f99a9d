"""What is around the pages: rail, header, banners, status strip."""
