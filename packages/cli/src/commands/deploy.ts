import { statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { ReadableStream } from 'node:stream/web'
import { contract } from '@berth/contract'
import { packFolder } from '@berth/server/pack-folder'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { Plain } from '../exit-codes.ts'
import { type Output, output } from '../output.ts'
import { uploadProgress } from '../progress.ts'
import { readLink, writeLink } from '../project-link.ts'
import { sendUpload } from '../send-upload.ts'
import { watchDeployment } from '../watch-deployment.ts'
import { offerLink } from './git/offer-link.ts'

interface Options {
  project?: string
  name?: string
  environment?: string
}

type Client = ReturnType<typeof connect>

export function addDeploy(program: Command): void {
  program
    .command('deploy [folder]')
    .description('upload a folder, build it and run it; the first time makes a project of it')
    .option('--project <id>', 'deploy to this project (default: the one the folder is linked to)')
    .option('--name <name>', 'name of a new project (default: the folder’s)')
    .option('--environment <slug>', 'which environment (default: production)')
    .action(async (folder: string | undefined, options: Options, command: Command) => {
      const say = output(command)
      const client = connect(command)
      const place = existingFolder(folder ?? '.')
      const linked = options.project ?? readLink(place)?.projectId
      const sessionId = await upload(client, place, linked, say, command)
      const projectId = linked ?? (await makeProject(client, place, sessionId, options, say))
      const { data } = await client.call(contract.deployments.build, {
        body: { projectId, uploadSessionId: sessionId, ...(options.environment ? { environment: options.environment } : {}) },
      })
      const deployment = await watchDeployment(client, data.deploymentId, say)
      say.result(deployment, () => `live at ${deployment.url}`)
      if (!linked && isAtTerminal(command)) await offerLink(client, place, projectId, say)
    })
}

/** Whoever reads JSON, or sits behind a pipe, is asked nothing. */
const isAtTerminal = (command: Command): boolean =>
  process.stdin.isTTY === true && process.stderr.isTTY === true && command.optsWithGlobals().json !== true

function existingFolder(folder: string): string {
  const place = resolve(folder)
  if (!statSync(place, { throwIfNoEntry: false })?.isDirectory()) throw new Plain(`${place} is not a folder`, 2)
  return place
}

/** For the project where there is one: a token that is limited to projects may upload for them alone. */
async function upload(
  client: Client,
  folder: string,
  projectId: string | undefined,
  say: Output,
  command: Command,
): Promise<string> {
  const { data } = await client.call(contract.projects.openUpload, {
    body: { name: basename(folder), ...(projectId ? { projectId } : {}) },
  })
  const progress = uploadProgress(command.optsWithGlobals().json === true)
  const skipped = (path: string, reason: string) => say.note(`left out: ${path} (${reason})`)
  try {
    const bytes = counted(packFolder(folder, { onSkipped: skipped, ignore: ['/.berth'] }), progress.add)
    await sendUpload(client, data, ReadableStream.from(bytes) as never)
    progress.end('uploaded')
  } catch (error) {
    progress.end('the upload stopped')
    throw error
  }
  return data.sessionId
}

async function* counted(chunks: AsyncIterable<Uint8Array>, count: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    count(chunk.length)
    yield chunk
  }
}

/** What detection found fills it. */
async function makeProject(client: Client, folder: string, sessionId: string, options: Options, say: Output): Promise<string> {
  const { data: found } = await client.call(contract.projects.scanUpload, { params: { sessionId } })
  for (const warning of found.warnings) say.note(`warning: ${warning}`)
  const { data } = await client.call(contract.projects.ensure, {
    body: {
      name: options.name ?? found.name ?? basename(folder),
      gitProvider: 'upload',
      uploadSessionId: sessionId,
      type: found.type,
      framework: found.framework,
      ...(found.port ? { port: found.port } : {}),
    },
  })
  writeLink(folder, { projectId: data.id, url: client.url })
  say.note(`made the project ${data.name} (${data.id}); .berth/project.json remembers it`)
  return data.id
}
