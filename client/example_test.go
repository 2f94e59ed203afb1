package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/winnow-reaper/winnow/client"
)

func Example() {
	c := client.New("/nowhere/api.sock") // mostly the one that Socket gives
	defer c.Close()
	answer, err := c.WhyAlive(context.Background(), "/home/me/wt/a", "")
	switch {
	case errors.Is(err, client.ErrNone):
		fmt.Println("no daemon answers: whether anything lives there is not known")
	case err != nil:
		fmt.Println("it was not answered:", err)
	default:
		fmt.Println(answer.State, answer.Why)
	}
	// Output: no daemon answers: whether anything lives there is not known
}

// A lease keeps a folder for as long as a program needs it, however the program ends.
func ExampleClient_Lease() {
	socket, err := client.Socket()
	if err != nil {
		log.Fatal(err)
	}
	c := client.New(socket)
	defer c.Close()
	lease, err := c.Lease(context.Background(), "/home/me/wt/a", "a build")
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Close()
	select {
	case <-build():
	case <-lease.Done(): // the daemon has ended: ask the next one for another lease
		log.Print(lease.Err())
	}
}

// build stands for the work.
func build() <-chan struct{} { return make(chan struct{}) }
