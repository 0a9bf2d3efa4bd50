import { EmbeddedEdge } from './embedded-edge.ts'

/** A control plane in a separate process, for tests that kill it. Its arguments are the options and the table. */
const [options, table] = process.argv.slice(2).map((text) => JSON.parse(text))
const edge = new EmbeddedEdge(options)
const listening = await edge.start()
if (table) await edge.apply(table)
process.stdout.write(`${JSON.stringify(listening)}\n`)
setInterval(() => {}, 1_000)
