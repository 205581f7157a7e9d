// Command machineset-controller keeps the machine sets and machine deployments of
// machine.openshift.io.
package main

import "github.com/millwright-dev/millwright/internal/program"

func main() { program.Main(program.SetController()) }
