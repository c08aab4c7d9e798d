import multiprocessing
from job import work # job.py

if __name__ == "__main__":
    manager = multiprocessing.Manager()
    shared = manager.dict()
    job = multiprocessing.Process(target=work, args=(shared,))
    job.start()
    job.join()
