const { readFileSync, renameSync, writeFileSync } = require('node:fs')
const { createServer } = require('node:http')

const file = '/data/visits'
let visits = 0
try {
  visits = Number(readFileSync(file, 'utf8'))
} catch {
  console.log('nothing was counted yet')
}

const server = createServer((request, response) => {
  if (request.url === '/add') {
    writeFileSync(`${file}.new`, String(++visits))
    renameSync(`${file}.new`, file)
  }
  response.end(String(visits))
}).listen(process.env.PORT ?? 4000, () => console.log(`counter is listening, ${visits} visits so far`))

process.on('SIGTERM', () => server.close(() => process.exit(0)))
