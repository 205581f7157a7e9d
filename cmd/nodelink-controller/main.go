// Command nodelink-controller links nodes to their machines of machine.openshift.io.
package main

import "github.com/millwright-dev/millwright/internal/program"

func main() { program.Main(program.NodeLink()) }
