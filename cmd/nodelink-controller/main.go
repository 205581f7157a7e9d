// Command nodelink-controller ties nodes to the machines of machine.openshift.io that they
// have become.
package main

import "github.com/millwright-dev/millwright/internal/program"

func main() { program.Main(program.NodeLink()) }
