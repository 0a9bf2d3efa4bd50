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
            (now) => now && { ...now, steps: now.steps.map((step) => (step.name === data.name ? data : step)) },
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
  const waiting = useRef<Line[]>([])
  const seen = useRef(new Set<string>())
  useEffect(() => {
    setLines([])
    waiting.current = []
    seen.current = new Set()
  }, [key])
  const add = useCallback((line: Line) => {
    if (line.id && seen.current.has(line.id)) return
    if (line.id) seen.current.add(line.id)
    if (waiting.current.push(line) > 1) return
    setTimeout(() => {
      const batch = waiting.current
      waiting.current = []
      setLines((now) => [...now, ...batch].slice(-maximum))
    }, 50)
  }, [])
  return { lines, add, clear: useCallback(() => setLines([]), []) }
}

const maximum = 50_000
