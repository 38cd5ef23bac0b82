/** Keeps a failure in one region from blanking the page. */
import { Component, type ReactNode } from "react";

interface BoundaryProps {
  readonly fallback: (error: unknown, retry: () => void) => ReactNode;
  readonly children: ReactNode;
}

export class Boundary extends Component<BoundaryProps, { readonly error: unknown; readonly isFailed: boolean }> {
  override state = { error: undefined as unknown, isFailed: false };

  static getDerivedStateFromError(error: unknown) {
    return { error, isFailed: true };
  }

  override render() {
    if (!this.state.isFailed) return this.props.children;
    return this.props.fallback(this.state.error, () => this.setState({ error: undefined, isFailed: false }));
  }
}
