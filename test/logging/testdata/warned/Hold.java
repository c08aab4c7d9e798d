/** It has the Java runtime's own handler. */
public class Hold {
    public static void main(String[] args) throws Exception {
        System.out.println("ready " + ProcessHandle.current().pid());
        Thread.sleep(600000);
    }
}
