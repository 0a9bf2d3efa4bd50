// Calls of the test machine to its Docker engine, over the socket. They need no Docker client.
//   wait SOCKET SECONDS · key SOCKET IMAGE · import SOCKET IMAGE TAR [CHANGE…] · kill-all SOCKET
import { createReadStream } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const [command, socket, ...args] = process.argv.slice(2)
const commands = { wait, key, import: importImage, 'kill-all': killAll }
process.exitCode = await commands[command](...args)

async function wait(seconds) {
  const end = Date.now() + seconds * 1000
  while (Date.now() < end) {
    const answer = await ask('GET', '/_ping').catch(() => undefined)
    if (answer?.status === 200) return 0
    await pause(50)
  }
  return 1
}

/** Prints the key that the image was made with, or nothing. */
async function key(image) {
  const { status, body } = await ask('GET', `/images/${image}/json`)
  if (status === 200) process.stdout.write(JSON.parse(body).Config?.Labels?.['berth-test.key'] ?? '')
  return 0
}

async function importImage(image, tar, ...changes) {
  const [repo, tag] = image.split(':')
  const query = new URLSearchParams({ fromSrc: '-', repo, tag })
  for (const change of changes) query.append('changes', change)
  const { status, body } = await ask('POST', `/images/create?${query}`, createReadStream(tar))
  // The engine has already sent the status 200 when an import fails: it reports the error in the body.
  if (status === 200 && !body.includes('"error"')) return 0
  console.error(`importing ${image}: ${status} ${body.trim()}`)
  return 1
}

async function killAll() {
  const { body } = await ask('GET', '/containers/json')
  await Promise.all(JSON.parse(body).map(({ Id }) => ask('POST', `/containers/${Id}/kill`)))
  return 0
}

function ask(method, path, content) {
  return new Promise((resolve, reject) => {
    const call = request(
      { socketPath: socket, method, path, headers: content ? { 'content-type': 'application/x-tar' } : {} },
      (reply) => {
        let body = ''
        reply.setEncoding('utf8')
        reply.on('data', (piece) => {
          body += piece
        })
        reply.on('end', () => resolve({ status: reply.statusCode, body }))
      },
    )
    call.on('error', reject)
    if (content) content.on('error', reject).pipe(call)
    else call.end()
  })
}
