import { basename } from 'node:path'
import { ReadableStream } from 'node:stream/web'
import { contract } from '@berth/contract'
import { limits } from '@berth/contract/limits'
import { packFolder } from '@berth/server/pack-folder'
import type { Command } from 'commander'
import type { Connection } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import { uploadProgress } from '../../progress.ts'
import { sendUpload } from '../../send-upload.ts'
import { envFileRules, envFileWarning } from './env-files.ts'
import { packToFile } from './packed-file.ts'

/**
 * Uploads a folder and returns the session. The session is opened for the project, if there is one, because a token limited to
 * projects may upload only for them. The folder is packed first, so that its size is checked before the upload starts; an object
 * store also requires the size.
 */
export async function uploadFolder(
  client: Connection,
  folder: string,
  projectId: string | undefined,
  print: Output,
  command: Command,
): Promise<string> {
  const onSkipped = (path: string, reason: string) => print.note(`left out: ${path} (${reason})`)
  const envFiles: string[] = []
  const { ignore = [], ignoreByDefault = [] } = envFileRules(command.opts().includeEnvFiles === true)
  const options = {
    onSkipped,
    ignore: ['.berth', ...ignore],
    ignoreByDefault,
    onIgnoredByDefault: (path: string) => void envFiles.push(path),
  }
  const progress = uploadProgress(command.optsWithGlobals().json === true)
  try {
    await using file = await packToFile(withinLimit(packFolder(folder, options)))
    const { sizeBytes, sha256 } = file
    const { data } = await client.call(contract.projects.openUpload, {
      body: { name: basename(folder), ...(projectId ? { projectId } : {}), sizeBytes, sha256 },
    })
    const bytes = countBytes(file.read(), (onBytes) => progress.sent(onBytes, sizeBytes))
    await sendUpload(client, data, ReadableStream.from(bytes) as never, sizeBytes)
    progress.end('uploaded')
    if (envFiles.length > 0) print.warning(envFileWarning(envFiles))
    return data.sessionId
  } catch (error) {
    progress.end('upload failed')
    throw error
  }
}

/** Throws as soon as the packed folder is larger than an instance accepts. */
export async function* withinLimit(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let packedBytes = 0
  for await (const chunk of chunks) {
    packedBytes += chunk.length
    if (packedBytes > limits.tarballBytes)
      throw new CliError(`The folder is larger than ${limits.tarballBytes / 1e6} MB packed. Exclude files with .gitignore.`)
    yield chunk
  }
}

async function* countBytes(chunks: AsyncIterable<Uint8Array>, onBytes: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    onBytes(chunk.length)
    yield chunk
  }
}
