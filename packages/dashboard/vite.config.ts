import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { earlyFrame } from './build-parts/early-frame.ts'
import { slimContract } from './build-parts/slim-contract.ts'
import { styledClasses } from './build-parts/styled-classes.ts'

export default defineConfig({
  plugins: [react(), slimContract(), styledClasses(), earlyFrame()],
  // In development the API is the one that `berth up` serves.
  server: { proxy: { '/api': 'http://127.0.0.1:4000' } },
  // The server puts a nonce of its own in the place of this word each time it sends the page.
  html: { cspNonce: 'berth-style-nonce' },
  // One style for all pages: beside the library's own, theirs are a third, and a page never waits for a second one.
  build: {
    manifest: true,
    chunkSizeWarningLimit: 600,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    // One file instead of twenty for the first page: over a slow line each request costs a journey there and back.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
  },
})
