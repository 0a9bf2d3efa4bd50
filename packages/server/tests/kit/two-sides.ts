import { type CallInput, call } from './call.ts'
import { startInstance, type TestInstance } from './instance.ts'
import { makePeople, type People } from './people.ts'

/** A self-hosted instance and a cloud, both real, the first linked to the second over HTTP. */
export interface TwoSides {
  here: TestInstance
  cloud: TestInstance
  people: People
  cloudPeople: People
  hereUrl: string
  cloudUrl: string
  link(token?: string): Promise<void>
  stop(): Promise<void>
}

/** `cloudEnv`: settings of the cloud; `hereEnv`: those of the self-hosted instance. */
export async function startTwoSides(
  parts: Parameters<typeof startInstance>[1] = {},
  cloudEnv: Record<string, string> = {},
  hereEnv: Record<string, string> = {},
): Promise<TwoSides> {
  const [here, cloud] = [await startInstance(hereEnv, parts), await startInstance({ BERTH_MODE: 'cloud', ...cloudEnv })]
  const [people, cloudPeople] = [await makePeople(here), await makePeople(cloud)]
  const hereUrl = await here.app.listen({ host: '127.0.0.1', port: 0 })
  const cloudUrl = await cloud.app.listen({ host: '127.0.0.1', port: 0 })
  return {
    ...{ here, cloud, people, cloudPeople, hereUrl, cloudUrl },
    async link(token = cloudPeople.owner.token) {
      const { status, body } = await linkTo(here, people.owner.token, { url: cloudUrl, token })
      if (status !== 200) throw new Error(`the instance was not linked to the cloud: ${status} ${JSON.stringify(body)}`)
    },
    async stop() {
      await here.stop()
      await cloud.stop()
    },
  }
}

export const linkTo = (instance: TestInstance, token: string, body: CallInput['body']) =>
  call(instance, token, 'PUT /cloud/link', { body })
