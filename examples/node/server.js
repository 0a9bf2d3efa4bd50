import { createServer } from 'node:http'

const port = Number(process.env.PORT ?? 3000)
const greeting = process.env.GREETING ?? 'Hello from Berth'

createServer((request, response) => {
  console.log(`${request.method} ${request.url}`)
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
  response.end(`${greeting}\n`)
}).listen(port, () => console.log(`listening on ${port}`))

process.on('SIGTERM', () => process.exit(0))
