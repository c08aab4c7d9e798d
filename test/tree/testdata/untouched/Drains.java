import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import sun.misc.Signal;

/** Drains for a second from its first TERM on, and records each. */
class Drains {
    private static Path record;
    private static Thread drains;

    static void say(String word) {
        String line = word + " " + ProcessHandle.current().pid() + "\n";
        try {
            Files.writeString(record, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static synchronized void signalled() {
        say("signalled");
        if (drains == null) {
            drains = new Thread(Drains::drain);
            drains.start();
        }
    }

    static void drain() {
        try {
            Thread.sleep(1000);
        } catch (InterruptedException e) {
            say("interrupted");
        }
        Runtime.getRuntime().halt(0);
    }

    public static void main(String[] args) throws InterruptedException {
        record = Path.of(args[0]);
        Signal.handle(new Signal("TERM"), signal -> signalled());
        say("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
