// The floor of writes: Fastify, one route, and one row committed to SQLite with the product's durability before each answer.
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import fastify from 'fastify'

const [bodyFile, databaseFile] = process.argv.slice(2) as [string, string]
const body = readFileSync(bodyFile, 'utf8')
const database = new DatabaseSync(databaseFile)
database.exec('pragma journal_mode = wal; pragma synchronous = full; create table changes (id integer primary key, text text)')
const insert = database.prepare('insert into changes (text) values (?)')
const app = fastify()
app.patch('/', (request, reply) => {
  insert.run(JSON.stringify(request.body))
  reply.type('application/json; charset=utf-8').send(body)
})
console.log(`listening at ${await app.listen({ port: 0, host: '127.0.0.1' })}`)
