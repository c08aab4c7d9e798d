import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A job in a thread of its own, which a shutdown hook waits for. */
class Worker {
    static void record(String words) {
        String line = String.format("%s %.3f\n", words, System.currentTimeMillis() / 1000.0);
        try {
            Files.writeString(Path.of(System.getenv("RECORD")), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void job() {
        record("begin");
        try {
            Thread.sleep((long) (1000 * Double.parseDouble(System.getenv("JOB"))));
        } catch (InterruptedException e) {
            return; // and no "done"
        }
        record("done");
    }

    static void stop(Thread job) {
        record("signalled SIGTERM");
        try {
            job.join();
        } catch (InterruptedException e) {
            record("interrupted");
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread job = new Thread(Worker::job);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(job)));
        job.start();
        Thread.sleep(Long.MAX_VALUE);
    }
}
