# A pool of two workers below a supervisor. On TERM the runtime stops, and the supervisor waits for each.
defmodule Redis do
  def connect do
    %URI{host: host, port: port, path: "/" <> db} = URI.parse(System.fetch_env!("BROKER_URL"))
    {:ok, socket} = :gen_tcp.connect(to_charlist(host), port, [:binary, packet: :line, active: false])
    command(socket, ["SELECT", db])
    socket
  end

  def command(socket, words) do
    bulks = Enum.map(words, &"$#{byte_size(&1)}\r\n#{&1}\r\n")
    :ok = :gen_tcp.send(socket, ["*#{length(words)}\r\n" | bulks])
    {:ok, line} = :gen_tcp.recv(socket, 0)

    case String.trim(line) do
      "$-1" -> nil
      "$" <> _ -> socket |> :gen_tcp.recv(0) |> elem(1) |> String.trim()
      other -> other
    end
  end
end

defmodule Worker do
  use GenServer

  def start_link(_), do: GenServer.start_link(__MODULE__, nil)

  def init(_) do
    Process.flag(:trap_exit, true) # so that its supervisor waits for the job
    send(self(), :work)
    {:ok, Redis.connect()}
  end

  def handle_info(:work, redis) do
    queue = System.fetch_env!("QUEUE")

    if job = !:persistent_term.get(:stopping, false) && Redis.command(redis, ["RPOPLPUSH", queue, "held"]) do
      [name, seconds] = String.split(job, ":")
      record("begin", name)
      Process.sleep(1000 * String.to_integer(seconds))
      record("done", name)
      Redis.command(redis, ["LREM", "held", "1", job])
    end

    Process.send_after(self(), :work, 10)
    {:noreply, redis}
  end

  defp record(what, job), do: File.write!(System.fetch_env!("RECORD"), "#{what} #{job}\n", [:append])
end

limit = 1000 * String.to_integer(System.fetch_env!("LIMIT"))
workers = for slot <- 1..2, do: Supervisor.child_spec(Worker, id: slot, shutdown: limit)

defmodule Pool do
  use Application
  def start(_, workers), do: Supervisor.start_link(workers, strategy: :one_for_one)

  # The supervisor ends one worker after the other: meanwhile the others must take no job.
  def prep_stop(_), do: :persistent_term.put(:stopping, true)
end

app = [mod: {Pool, workers}, applications: [:kernel, :stdlib, :elixir], modules: []]
:ok = :application.load({:application, :pool, app})
:ok = Application.start(:pool)
Process.sleep(:infinity)
