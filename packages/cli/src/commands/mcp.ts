import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { McpForwarder } from '../mcp-forwarder.ts'

interface Options {
  tools?: string
  confirm?: string
}

export function addMcp(program: Command): void {
  program
    .command('mcp')
    .description('serve the tools of the instance to an MCP client, over standard input and output')
    .option('--tools <groups>', 'groups or names of tools, separated by commas (default: the most used ones)')
    .option('--confirm <how>', 'elicitation: refuse destructive calls if the client cannot ask its user')
    .action(async (options: Options, command: Command) => {
      const { url, token, organizationId } = connect(command)
      const address = new URL(`${url}/api/mcp`)
      for (const [name, value] of Object.entries(options)) if (value) address.searchParams.set(name, String(value))
      const forwarder = new McpForwarder({
        url: address,
        headers: { authorization: `Bearer ${token}`, ...(organizationId ? { 'x-organization-id': organizationId } : {}) },
        write: (line) => void process.stdout.write(`${line}\n`),
      })
      for await (const line of createInterface({ input: process.stdin })) if (line.trim()) await forwarder.take(line)
      await forwarder.end()
    })
}
