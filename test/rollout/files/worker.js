// A worker that does jobs of the queue at $QUEUE, $AT_ONCE at a time, each on a connection of its
// own. TSTP: takes no more, CONT: takes jobs again, TERM: ends those in flight and exits with 0.
const http = require('node:http')
const net = require('node:net')

let stopping = false
let quiet = false
let open = Number(process.env.AT_ONCE)
const waiting = []
const goOn = () => waiting.splice(0).forEach(next => next())

process.on('SIGTERM', () => { stopping = true; goOn() })
process.on('SIGTSTP', () => { quiet = true })
process.on('SIGCONT', () => { quiet = false; goOn() })

function connect() {
  const socket = net.connect(process.env.QUEUE)
  const next = () => {
    if (stopping) socket.end()
    else if (quiet) waiting.push(next)
    else socket.write('take\n')
  }
  socket.on('connect', next)
  socket.on('data', answer => { // how long the job takes, in milliseconds, 0 if there is none
    const length = Number(answer)
    if (length === 0) return setTimeout(next, 100)
    setTimeout(() => socket.write('effect\n'), length / 2)
    setTimeout(() => { socket.write('done\n'); next() }, length)
  })
  socket.on('close', () => { if (--open === 0) process.exit(0) })
}

for (let i = open; i > 0; i--) connect()
http.createServer((request, response) => response.end()).listen(Number(process.env.PORT ?? 8080)) // ready
