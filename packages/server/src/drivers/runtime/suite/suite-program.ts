/** Program that the suite builds and runs on every runtime. It acts on HTTP requests, or on its first argument. */
export const programText = `
const http = require('node:http')
const fs = require('node:fs')
const path = require('node:path')
const [mode, argument] = process.argv.slice(2)
const volume = () => path.join(process.env.BERTH_VOLUME_MY_DATA, 'file')
const answers = {
  env: () => JSON.stringify(process.env),
  say: (text) => { for (const line of text.split(',')) console.log(line); return 'said' },
  complain: (text) => { console.error(text); return 'said' },
  write: (text) => { fs.writeFileSync(volume(), text); return 'written' },
  read: () => fs.readFileSync(volume(), 'utf8'),
  file: (path) => fs.readFileSync(path, 'utf8'),
  put: (text) => { const [path, content] = text.split('='); fs.writeFileSync(path, content); return 'written' },
  link: (text) => { const [path, target] = text.split('='); fs.symlinkSync(target, path); return 'linked' },
  spin: () => { const end = Date.now() + 100; while (Date.now() < end); return 'spun' },
  fill: (where) => {
    const file = fs.openSync(where === 'volume' ? volume() : 'big', 'w')
    if (where === 'file without a name') fs.rmSync('big')
    for (let at = 0; at < 48; at++) fs.writeSync(file, Buffer.alloc(1024 * 1024, 1))
    return 'filled'
  },
  exit: (code) => { setTimeout(() => process.exit(Number(code)), 50); return 'going' },
}
if (mode === 'serve') {
  http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://here')
    try { response.end(String(answers[pathname.slice(1)](searchParams.get('q') ?? ''))) }
    catch (error) { response.statusCode = 500; response.end(String(error)) }
  }).listen(process.env.PORT, process.env.HOST ?? '0.0.0.0', () => console.log('ready'))
  process.on('SIGTERM', () => { console.log('bye'); process.exit(0) })
}
if (mode === 'deaf') { process.on('SIGTERM', () => {}); console.log('deaf'); setInterval(() => {}, 1000) }
if (mode === 'exit') { console.log('leaving'); setTimeout(() => process.exit(Number(argument)), 100) }
const eatsNow = mode === 'eat' || (mode === 'eat-once' && !fs.existsSync(volume()))
if (mode === 'eat-once' && !eatsNow) setTimeout(() => process.exit(4), 100)
if (mode === 'eat-once' && eatsNow) fs.writeFileSync(volume(), 'eaten')
if (eatsNow) { const kept = []; setInterval(() => kept.push(Buffer.alloc(8 * 1024 * 1024, 1)), 5) }
if (mode === 'fork') {
  const { spawn } = require('node:child_process')
  for (let at = 0; at < 700; at++) spawn('sleep', ['60'], { stdio: 'ignore' }).on('error', () => {})
  setInterval(() => {}, 1000)
}
`
