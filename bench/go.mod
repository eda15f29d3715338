module sennit.example/bench

go 1.19
