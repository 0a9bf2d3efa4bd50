import { contract } from '@berth/contract'
import { Loaded } from '../../../components/loaded.tsx'
import { Section } from '../../../components/section.tsx'
import { useProjectId } from '../../../data/project.ts'
import { useRead } from '../../../data/read.ts'
import { ProjectPage } from '../project-page.tsx'
import { AddRule } from './add-rule.tsx'
import { RuleTable } from './rule-table.tsx'

/** Who is let in at the edge, and how often. */
export function RulesPage() {
  const id = useProjectId()
  const rules = useRead(contract.projects.listRules, { params: { id }, query: {} }, { everyMs: 5000 })
  return (
    <ProjectPage
      title="Rules"
      description="In force at the edge within a second. Try a rule first: it then counts whom it would have blocked, and blocks nobody."
    >
      {() => (
        <>
          <Section isFlush>
            <Loaded query={rules}>{(rows) => <RuleTable projectId={id} rules={rows} />}</Loaded>
          </Section>
          <AddRule projectId={id} isFirst={rules.data?.length === 0} />
        </>
      )}
    </ProjectPage>
  )
}
