// The floor that the product is measured against: Fastify, one route, one ready-made body. It runs as a process of its own.
import { readFileSync } from 'node:fs'
import fastify from 'fastify'

const body = readFileSync(process.argv[2]!, 'utf8')
const app = fastify()
app.get('/', (_request, reply) => {
  reply.type('application/json; charset=utf-8').send(body)
})
console.log(`listening at ${await app.listen({ port: 0, host: '127.0.0.1' })}`)
