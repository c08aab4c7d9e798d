// Launcher starts a command, waits for it and exits with its status. Of a signal the Java runtime
// ends at once.
class Launcher {
    public static void main(String[] command) throws Exception {
        System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
    }
}
