// Command machine-healthcheck runs the controller of the health checks of machine.openshift.io.
package main

import "github.com/millwright-dev/millwright/internal/program"

func main() { program.Main(program.HealthCheck()) }
