// Command machine-controller-manager runs the controllers that need no
// infrastructure: the machine sets and machine deployments of both APIs, and
// health checks.
package main

import "github.com/millwright-dev/millwright/internal/program"

func main() { program.Main(program.ControllerManager()) }
