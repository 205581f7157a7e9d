// Package release builds a release of the commit as it is published, in two folders, and uses it as users do. It verifies the
// release, installs the kubectl plugin with krew, and runs programs with --version. The tests need git, and take minutes: `make
// test-release` runs them.
package release
