import { contract, type Deployment } from '@berth/contract'
import { Code } from '@mantine/core'
import { Facts } from '../../../components/facts.tsx'
import { Section } from '../../../components/section.tsx'
import { useRead } from '../../../data/read.ts'

const command = (text: string | null) => text && <Code>{text}</Code>

/** How a deployment was built and is run. */
export function PlanSection({ deployment: { plan, projectId } }: { deployment: Deployment }) {
  const info = useRead(contract.projects.info, { params: { id: projectId } })
  if (!plan) return null
  return (
    <Section title="Plan">
      <Facts
        facts={[
          ['Type', plan.type],
          ['Framework', plan.framework],
          ['Package manager', plan.packageManager],
          ['Install command', command(plan.installCommand)],
          ['Build command', command(plan.buildCommand)],
          ['Start command', command(plan.startCommand)],
          ['Output directory', plan.outputDirectory],
          // The port of the plan is that of a container.
          ['Port', plan.port && (info.data?.runtime.driver === 'process' ? 'a free port' : plan.port)],
          ['Branch', plan.branch],
        ]}
      />
    </Section>
  )
}
