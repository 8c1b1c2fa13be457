// Serves dynalite (argv[2]: its folder) on a free port of 127.0.0.1, prints the port, and ends when its stdin closes with the parent.
const dynalite = require(process.argv[2])

const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.on('end', () => process.exit(0)).resume()
// A client that is killed resets its connection; dynalite takes that for an error of its own and would end.
process.on('uncaughtException', (error) => {
  if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return
  console.error(error)
  process.exit(1)
})
