import type { ServerResponse } from 'node:http'
import { serve } from '../../tests/kit/http-server.ts'
import { checkDestination } from './destination-checks.ts'
import type { Scenario } from './scenario.ts'

const entry =
  '<Contents><Key>berth-check/left</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>1</Size></Contents>'
const large = `<ListBucketResult>${entry.repeat(Math.ceil(20e6 / entry.length))}</ListBucketResult>`

/** An S3 endpoint that lists 20 MB at once, or without end, to checks of a destination. */
export const s3Listing: Scenario = {
  name: 'an S3 endpoint that lists 20 MB, or without end',
  async run({ hosting, watch, defer }) {
    let checks = 0
    const endpoint = await serve((request, response) => {
      request.resume()
      if (!request.url?.includes('list-type')) return void response.end()
      checks += 1
      if (checks % 2 === 0) return void response.end(large)
      pour(response, entry.repeat(500))
    })
    defer(() => endpoint.close())
    const config = { endpoint: endpoint.url, bucket: 'bucket', accessKeyId: 'key', secretAccessKey: 'secret' }
    const answers = await checkDestination({ hosting, watch }, { kind: 's3', config })
    return `${checks} listings; ${answers}`
  },
}

/** Sends the piece repeatedly until the client disconnects. */
export function pour(response: ServerResponse, piece: string): void {
  const more = () => {
    while (!response.destroyed) if (!response.write(piece)) return void response.once('drain', more)
  }
  more()
}
