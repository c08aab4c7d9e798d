// Its job, without a hook.
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

public class Bare {
    static void note(String word) throws Exception {
        Files.writeString(Path.of(System.getenv("RECORD")), word + " " + System.currentTimeMillis() / 1000 + "\n",
            StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    public static void main(String[] args) throws Exception {
        note("begin");
        Thread.sleep((long) (1000 * Double.parseDouble(System.getenv("JOB"))));
        note("done");
        Thread.sleep(Long.MAX_VALUE);
    }
}
