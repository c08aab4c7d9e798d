import com.rabbitmq.client.*;
import java.io.*;
import java.nio.file.*;
import java.util.concurrent.*;

/** A pool of two threads; a shutdown hook, which the runtime runs on TERM, waits for their jobs. */
public class Worker {
    static void record(String what, String job) {
        try {
            byte[] line = (what + " " + job + "\n").getBytes();
            Files.write(Path.of(System.getenv("RECORD")), line, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void run(Channel channel, Delivery message) {
        String[] job = new String(message.getBody()).split(":");
        try {
            record("begin", job[0]);
            Thread.sleep(Long.parseLong(job[1]) * 1000);
            record("done", job[0]);
            synchronized (channel) {
                channel.basicAck(message.getEnvelope().getDeliveryTag(), false);
            }
        } catch (InterruptedException e) {
            record("back", job[0]);
        } catch (IOException e) {
            e.printStackTrace();
        }
    }

    public static void main(String[] args) throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(System.getenv("BROKER_URL"));
        Connection connection = factory.newConnection();
        Channel channel = connection.createChannel();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        channel.basicQos(2);
        String tag = channel.basicConsume(System.getenv("QUEUE"), false,
            (consumer, message) -> pool.submit(() -> run(channel, message)), consumer -> { });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                channel.basicCancel(tag);
                pool.shutdown();
                if (!pool.awaitTermination(Long.parseLong(System.getenv("LIMIT")), TimeUnit.SECONDS)) {
                    pool.shutdownNow(); // the broker gives their jobs to another worker
                    pool.awaitTermination(1, TimeUnit.SECONDS);
                }
                connection.close();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }));
    }
}
