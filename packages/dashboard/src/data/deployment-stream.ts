import { contract, type Deployment, type DeploymentLogLine } from '@berth/contract'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { refresh } from './refresh.ts'
import { type StreamState, useStream } from './stream.ts'

interface Live {
  deployment: Deployment | undefined
  lines: readonly DeploymentLogLine[]
  state: StreamState
}

/** A deployment with its steps and log lines, updated live. */
export function useDeploymentStream(id: string): Live {
  const [deployment, setDeployment] = useState<Deployment>()
  const { lines, add } = useBatches<DeploymentLogLine>(id)
  const queries = useQueryClient()
  const state = useStream(
    contract.deployments.stream,
    { params: { id }, query: {} },
    {
      endsWith: 'complete',
      onEvent({ event, data }) {
        if (event === 'log') return add(data)
        if (event === 'step')
          return setDeployment(
            (previous) =>
              previous && { ...previous, steps: previous.steps.map((step) => (step.name === data.name ? data : step)) },
          )
        setDeployment(data)
        if (event !== 'complete') return
        const { projects, deployments } = contract
        void refresh(queries, projects.get, projects.listDeployments, deployments.list, deployments.get)
      },
    },
  )
  return { deployment, lines, state }
}

/** Lines arrive faster than the screen is rendered: they are added once per frame. Duplicate lines are dropped. */
export function useBatches<Line extends { id?: string }>(key: string) {
  const [lines, setLines] = useState<readonly Line[]>([])
  const pending = useRef<Line[]>([])
  const seen = useRef(new Set<string>())
  useEffect(() => {
    setLines([])
    pending.current = []
    seen.current = new Set()
  }, [key])
  const add = useCallback((line: Line) => {
    if (line.id && seen.current.has(line.id)) return
    if (line.id) seen.current.add(line.id)
    if (pending.current.push(line) > 1) return
    setTimeout(() => {
      const batch = pending.current
      pending.current = []
      setLines((previous) => [...previous, ...batch].slice(-maxLines))
    }, 50)
  }, [])
  return { lines, add, clear: useCallback(() => setLines([]), []) }
}

const maxLines = 50_000
