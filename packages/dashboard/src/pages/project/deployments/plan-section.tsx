import type { DeploymentPlan } from '@berth/contract'
import { Code } from '@mantine/core'
import { Facts } from '../../../components/facts.tsx'
import { Section } from '../../../components/section.tsx'

const command = (text: string | null) => text && <Code>{text}</Code>

/** How a deployment was built and is run. */
export function PlanSection({ plan }: { plan: DeploymentPlan | null | undefined }) {
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
          ['Port', plan.port],
          ['Branch', plan.branch],
        ]}
      />
    </Section>
  )
}
