// Package release builds a release of the commit as it is published, in two folders, and uses it as users do: verifies it, installs the kubectl plugin with krew, and
// asks programs for their version. The tests need git, and take minutes: `make test-release` runs them.
package release
