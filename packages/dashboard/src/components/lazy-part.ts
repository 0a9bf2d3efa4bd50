import { lazyRouteComponent } from '@tanstack/react-router'

const pausesMs = [400, 1000, 2500]

/** A page, or a part of one, whose file is fetched when it is first shown. Networks change under a browser: a file that does not come is asked for again. */
export const lazyPart = <Name extends string, Part extends (props: never) => React.ReactNode>(
  load: () => Promise<Record<Name, Part>>,
  name: Name,
) => lazyRouteComponent<Record<Name, Part>, Name>(() => loadPatiently(load), name)

/** The last attempt's failure is told as it is. */
async function loadPatiently<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  for (const pauseMs of pausesMs) {
    try {
      return await load()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  return await load()
}
