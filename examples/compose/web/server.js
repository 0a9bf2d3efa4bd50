const { createServer } = require('node:http')

const greeting = process.env.GREETING ?? 'Hello from Compose on Berth'

const server = createServer(async (request, response) => {
  console.log(`${request.method} ${request.url}`)
  try {
    const visits = await (await fetch(`${process.env.COUNTER_URL}/add`)).text()
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(`${greeting}: visit ${visits}\n`)
  } catch (error) {
    response.writeHead(502).end(`the counter does not answer: ${error.cause?.message ?? error.message}\n`)
  }
}).listen(process.env.PORT ?? 3000, () => console.log('web is listening'))

process.on('SIGTERM', () => server.close(() => process.exit(0)))
