// Package e2e has black-box tests: whole programs with a real control plane, judged by what users and the infrastructure see.
package e2e
